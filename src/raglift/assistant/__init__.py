"""The tutorial's assistant: ask a corpus, see what was found before and after reranking, read a grounded answer."""
