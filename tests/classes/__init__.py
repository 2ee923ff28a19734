"""Every retriever, compressor, query engine and postprocessor class that can be built here, run through `evaluate`."""
