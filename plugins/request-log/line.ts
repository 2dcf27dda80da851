/**
 * The log line of a request. It says which address was met, never which resource: paths, queries, headers and bodies are
 * the client's own text. Made by hand, because a line for each request must cost less than the logger takes to make one.
 */
import type { Clock, Usage } from '../../kernel/index.ts'

/** `2026-11-21T21:45:00.`: the same for a second of lines. */
const createTime = () => {
  let second = Number.NaN
  let text = ''
  return (ms: number): string => {
    const now = Math.floor(ms / 1000)
    if (now !== second) {
      second = now
      text = new Date(now * 1000).toISOString().slice(0, 20)
    }
    const rest = Math.floor(ms) - now * 1000
    return `${text}${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}Z`
  }
}

/** A member for each part of who calls: client and user when known, else the address. */
const callerOf = ({ caller, address }: Usage['request']): string => {
  if (caller.client === undefined) return `,"address":${JSON.stringify(address)}`
  const user = caller.user === undefined ? '' : `,"user":${JSON.stringify(caller.user)}`
  return `,"client":${JSON.stringify(caller.client)}${user}`
}

/** Routes are few, and the same texts again and again. */
const createQuoted = () => {
  const known = new Map<string, string>()
  return (route: string): string => {
    let quoted = known.get(route)
    if (quoted === undefined) {
      quoted = JSON.stringify(route)
      known.set(route, quoted)
    }
    return quoted
  }
}

/** Milliseconds to the microsecond. */
const rounded = (ms: number): number => Math.round(ms * 1000) / 1000

export const createLineMaker = (clock: Clock): ((usage: Usage) => string) => {
  const timeOf = createTime()
  const quoted = createQuoted()
  // Of what stands between quotes as it is, Node has checked the method, and the kernel the id.
  return ({ request, status, bytesIn, bytesOut, duration }) => {
    const { id, method, route, requestClass } = request
    const path = route === undefined ? '' : `,"route":${quoted(route)}`
    return `{"level":"info","time":"${timeOf(clock.now())}","plugin":"request-log","request":"${id}","method":"${method}"${path},"class":"${requestClass}","status":${status},"bytes_in":${bytesIn},"bytes_out":${bytesOut},"ms":${rounded(duration)}${callerOf(request)},"msg":"request"}\n`
  }
}
