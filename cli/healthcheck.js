/*
 * For the HEALTHCHECK of a container: exit code 0 where the server of this machine answers /readyz with 200, else 1. Its port is
 * that of SERVER_BIND, as the server's is.
 */
const [, host = '127.0.0.1', port = '8080'] = /^(.*):(\d+)$/.exec(process.env.SERVER_BIND ?? '') ?? []
const reachable = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' }[host] ?? host
const answer = await fetch(`http://${reachable}:${port}/readyz`, { signal: AbortSignal.timeout(4000) }).catch(
  () => undefined,
)
process.exit(answer?.status === 200 ? 0 : 1)
