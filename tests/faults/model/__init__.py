"""The model: what contract §4 to §6 says of one organization, without storage, HTTP or time."""
