"""Keys that say what they hold, and those by which programs run something else."""

import pytest

from teamvars.domain.key_names import is_steering, says_secret

STEERING = """
PATH LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES GCONV_PATH HOME SHELL IFS PS4 SHELLOPTS
BASH_ENV BASH_FUNC_ls ENV PROMPT_COMMAND ZDOTDIR fish_function_path EDITOR VISUAL KUBE_EDITOR PAGER
AWS_PAGER MANPAGER LESS LESSOPEN LESSCLOSE BROWSER SSH_ASKPASS GIT_SSH_COMMAND GIT_EXTERNAL_DIFF
GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 TAR_OPTIONS MAKEFLAGS PYTHONPATH PYTHONSTARTUP PERL5OPT PERL5LIB
RUBYOPT NODE_OPTIONS JAVA_TOOL_OPTIONS GOFLAGS RUSTC_WRAPPER PIP_INDEX_URL npm_config_script_shell
NPM_CONFIG_REGISTRY SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE SSLKEYLOGFILE AWS_ENDPOINT_URL
AWS_ENDPOINT_URL_S3 AWS_CONFIG_FILE KUBECONFIG http_proxy HTTPS_PROXY all_proxy NO_PROXY
TF_CLI_CONFIG_FILE TF_CLI_ARGS TF_CLI_ARGS_plan TF_PLUGIN_CACHE_DIR TF_REATTACH_PROVIDERS
TERRAGRUNT_TFPATH ANSIBLE_CONFIG TEAMVARS_ADDRESS
"""
PLAIN = """
DB_PASSWORD API_KEY DATABASE_URL LOG_LEVEL APP_ENV ENVIRONMENT REGION TZ LANG PORT HTTP_PORT
AWS_REGION AWS_PROFILE AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY ARM_CLIENT_ID GOOGLE_CREDENTIALS
TF_LOG TF_WORKSPACE TF_TOKEN_example_com TF_VAR_PATH TF_IN_AUTOMATION CARGO_REGISTRY_TOKEN
TG_BOT_TOKEN LESSON PATHS XPATH MY_ENV PROXY_TIMEOUT GITHUB_TOKEN HOMEPAGE NODE_ENV path
"""


@pytest.mark.parametrize(
    "key",
    [
        "SECRET",
        "client_secret",
        "DB_PASSWORD",
        "dbPasswd",
        "GITHUB_TOKEN",
        "TOKEN_TTL",
        "tls_private_key_pem",
        "GOOGLE_CREDENTIALS",
        "api_key",
        "X_API_KEY_2",
    ],
)
def test_a_name_that_says_a_secret_is_known_in_any_case(key: str) -> None:
    assert says_secret(key)


@pytest.mark.parametrize("key", ["REGION", "PASSPORT", "KEY", "API", "PRIVATE", "tok", "apikey"])
def test_any_other_name_says_nothing(key: str) -> None:
    assert not says_secret(key)


@pytest.mark.parametrize("name", STEERING.split())
def test_a_name_by_which_programs_run_or_trust_something_is_known(name: str) -> None:
    assert is_steering(name)


@pytest.mark.parametrize("name", PLAIN.split())
def test_a_name_that_people_use_for_values_is_left_alone(name: str) -> None:
    assert not is_steering(name)
