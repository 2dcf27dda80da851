/**
 * The log lines of requests. They name the route, never the resource: paths, queries, headers and bodies are text of
 * the client. Formatted by hand and in batches, because a line for each request must cost less than the logger would
 * take.
 */
import type { Clock, RequestContext, Usage } from '../../kernel/index.ts'

/** Formats the time as in other lines; the text is reused within a millisecond. */
const createTime = () => {
  let at = Number.NaN
  let text = ''
  return (ms: number): string => {
    if (ms !== at) {
      at = ms
      text = new Date(ms).toISOString()
    }
    return text
  }
}

/** JSON members for the caller: client and user when known, else the address. */
const callerOf = ({ caller, address }: RequestContext): string => {
  if (caller.client === undefined) return `,"address":${JSON.stringify(address)}`
  const user = caller.user === undefined ? '' : `,"user":${JSON.stringify(caller.user)}`
  return `,"client":${JSON.stringify(caller.client)}${user}`
}

/** The fractions `.001` to `.999`, without zeros at the end, and an empty text for 0. */
const FRACTIONS: readonly string[] = Array.from({ length: 1000 }, (_, micros) => String(micros / 1000).slice(1))

/** Formats milliseconds with microseconds, from integers: formatting a fraction takes ten times as long. */
const rounded = (ms: number): string => {
  const micros = Math.round(ms * 1000)
  const whole = Math.floor(micros / 1000)
  return `${whole}${FRACTIONS[micros - whole * 1000]}`
}

/** Caches the parts of lines that repeated requests have in common: between id and bytes, and the caller. */
const createCommon = () => {
  let last: Pick<RequestContext, 'method' | 'route' | 'requestClass' | 'relayed'> | undefined
  let lastStatus = 0
  let middle = ''
  let lastCaller: RequestContext['caller'] | undefined
  let lastAddress = ''
  let end = ''
  return {
    middle(request: RequestContext, status: number): string {
      const { method, route, requestClass, relayed } = request
      if (
        last === undefined ||
        status !== lastStatus ||
        route !== last.route ||
        requestClass !== last.requestClass ||
        relayed !== last.relayed ||
        method !== last.method
      ) {
        const path = route === undefined ? '' : `,"route":${JSON.stringify(route)}`
        const two = relayed === undefined ? '' : `,"relayed":"${relayed}"`
        middle = `","method":"${method}"${path},"class":"${requestClass}"${two},"status":${status},"bytes_in":`
        last = { method, route, requestClass, relayed }
        lastStatus = status
      }
      return middle
    },
    end(request: RequestContext): string {
      const { caller, address } = request
      // Tokens of one client have different callers.
      const isSame = caller === lastCaller || (caller.client === lastCaller?.client && caller.user === lastCaller?.user)
      if (!isSame || address !== lastAddress) end = `${callerOf(request)},"msg":"request"}\n`
      lastCaller = caller
      lastAddress = address
      return end
    },
  }
}

/** The values of a line, without a reference to the request, which would stay in memory. */
interface Noted {
  readonly at: number
  readonly id: string
  readonly middle: string
  readonly bytesIn: number
  readonly bytesOut: number
  readonly duration: number
  readonly end: string
}

const CHARS = 110 // characters of a line without its middle, its end and the id

export interface Lines {
  /** Adds a request; returns the approximate number of characters of its line. */
  add(usage: Usage): number
  /** Returns the lines of the requests added since the last call. */
  take(): string
}

export const createLines = (clock: Clock): Lines => {
  const timeOf = createTime()
  const common = createCommon()
  let noted: Noted[] = []
  // Method and id are not escaped: Node has checked the method, and the kernel the id.
  const lineOf = ({ at, id, middle, bytesIn, bytesOut, duration, end }: Noted): string =>
    `{"level":"info","time":"${timeOf(at)}","plugin":"request-log","request":"${id}${middle}${bytesIn},"bytes_out":${bytesOut},"ms":${rounded(duration)}${end}`
  return {
    add({ request, status, bytesIn, bytesOut, duration }) {
      const { id } = request
      const middle = common.middle(request, status)
      const end = common.end(request)
      noted.push({ at: clock.now(), id, middle, bytesIn, bytesOut, duration, end })
      return CHARS + id.length + middle.length + end.length
    },
    take() {
      let text = ''
      for (const one of noted) text += lineOf(one)
      noted = []
      return text
    },
  }
}
