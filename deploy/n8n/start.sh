#!/bin/sh
# Starts n8n with the workflow of this folder, published.
set -eu
n8n import:workflow --input=/carillon/workflow.json
n8n publish:workflow --id=carillonReceiver
exec n8n start
