"""HTTP and JSON:API, whatever the resources are: nothing here names one of them."""
