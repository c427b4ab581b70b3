"""The use cases: authorise, change, record, each in one visible transaction."""

from teamvars.domain.times import Clock as Clock
