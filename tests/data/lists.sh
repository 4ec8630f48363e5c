# An MCP server in a shell: it lists the tools of the file that it is given, and does nothing else.
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"lists","version":"1"}}' ;;
    *'"tools/list"'*) result=$(cat "$1") ;;
    *) result='{}' ;;
  esac
  [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
