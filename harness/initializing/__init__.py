"""A first audit.toml from a data file: what its columns probably are, and how a release of it is to be read.

    describe_column   what can be counted about one column
    guess_kind        number, date, ordered or category; or why a column is left out
    guess_roles       which column is sensitive, which says whose row it is, which an adversary knows -> Draft
    fit_release       the declarations under which every cell of one release can be read
    learn_hierarchy   what a name such as `high` stands for: from a file, or from the rows that show it
    write_toml        the Draft as a commented file

Knows the vocabulary alone: the command `harness init` reads the data, asks the oracle and asks the person.
"""
