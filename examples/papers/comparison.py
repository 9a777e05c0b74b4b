def papers_page(*a): return ""
def papers_text(*a): return ""
