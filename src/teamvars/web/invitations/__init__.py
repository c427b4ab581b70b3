"""The links of invitations, and the page behind them."""
