"""CI files that `photometer init` writes and docs/ci.md shows: GitHub's two workflows, a job for GitLab."""

from __future__ import annotations

# `{branch}` is the main branch. Counts of the base are cached: a run on the main branch produces them.
GITHUB_WORKFLOW = """\
# Compares a pull request with its base: is it slower, by how much, and why?
name: benchmarks

on:
  pull_request:
  push:
    branches: [{branch}]  # counts the instructions of the new base, for the pull requests after it

permissions:
  contents: read
  pull-requests: write

concurrency:
  group: ${{{{ github.workflow }}}}-${{{{ github.ref }}}}
  cancel-in-progress: true

jobs:
  compare:
    runs-on: ubuntu-latest
    timeout-minutes: 60
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 0  # the base is a commit of the past
          persist-credentials: false
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
          cache: pip
          cache-dependency-path: pyproject.toml
      - uses: actions/cache@v4
        with:
          path: ~/.cache/photometer
          key: photometer-${{{{ runner.os }}}}-${{{{ github.run_id }}}}
          restore-keys: photometer-${{{{ runner.os }}}}-
      - run: sudo apt-get update && sudo apt-get install --yes valgrind
      - run: python -m pip install torch "photometer[flame]" .
      - run: photometer compare --format github -o photometer-comparison
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: photometer
          path: photometer-comparison
          if-no-files-found: ignore
      # A fork's run has no right to comment; the workflow benchmarks-comment does it.
      - if: >-
          always() && hashFiles('photometer-comparison/review.json') != '' &&
          github.event.pull_request.head.repo.full_name == github.repository
        run: photometer comment photometer-comparison
        env:
          GITHUB_TOKEN: ${{{{ github.token }}}}
"""

COMMENT_WORKFLOW = """\
# Posts the comment on pull requests from forks. It has a token, so it runs none of the fork's code: it reads a file.
name: benchmarks-comment

on:
  workflow_run:
    workflows: [benchmarks]
    types: [completed]

permissions:
  actions: read
  pull-requests: write

jobs:
  comment:
    if: >-
      github.event.workflow_run.event == 'pull_request' &&
      github.event.workflow_run.head_repository.full_name != github.repository
    runs-on: ubuntu-latest
    timeout-minutes: 10
    steps:
      - uses: actions/download-artifact@v4
        with:
          name: photometer
          path: photometer-comparison
          run-id: ${{ github.event.workflow_run.id }}
          github-token: ${{ github.token }}
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: python -m pip install photometer
      - run: photometer comment photometer-comparison
        env:
          GITHUB_TOKEN: ${{ github.token }}
"""

GITLAB_JOB = """\
# Compares a merge request with its target: is it slower, by how much, and why?
benchmarks:
  image: python:3.12
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH  # counts the instructions of the new base
  variables:
    GIT_DEPTH: 0  # the base is a commit of the past
    PHOTOMETER_CACHE: $CI_PROJECT_DIR/.photometer-cache
  cache:
    key: photometer
    paths: [.photometer-cache]
  script:
    - apt-get update && apt-get install --yes valgrind
    - python -m pip install torch "photometer[flame]" .
    - photometer compare -o photometer-comparison --junit junit.xml --gitlab-metrics metrics.txt
  artifacts:
    when: always
    paths: [photometer-comparison]
    reports:
      junit: junit.xml
      metrics: metrics.txt
"""
