/** The set of a search, kept up to date by /sync of a FHIR server, over lost connections too. For browsers, without a dependency. */

const FIRST_WAIT_MS = 250 // before a lost connection is opened again; doubled each time
const LONGEST_WAIT_MS = 10_000
const TEMPORARY = ['transient', 'throttled', 'timeout'] // issue codes after which it is worth trying again
const ID = 'set' // our name for the query; there is one on the connection

/**
 * `server`: base URL. `query`: `Encounter?status=in-progress`. `token`: resolves with an access token, where the server asks for one.
 * `onSet`: called with the resources, a Map by reference, each time they are whole. `onState`: called with `live`, `waiting` while
 * there is no connection, or `over` and a sentence when the server has refused the query. Returns a function that ends it.
 */
export const liveQuery = ({ server, query, token = async () => '', onSet, onState }) => {
  let set = new Map()
  let at // position of the set, once it is whole; the server sends what has changed since
  let socket
  let timer
  let isSubscribed = false
  let isOver = false
  let wait = FIRST_WAIT_MS

  const send = (message) => socket.send(JSON.stringify(message))
  const authenticate = async () => send({ op: 'auth', token: await token() })
  const subscribe = () => {
    isSubscribed = true
    if (at === undefined) set = new Map()
    send({ op: 'subscribe', id: ID, query, ...(at === undefined ? {} : { resume: at }) })
  }
  const end = () => {
    isOver = true
    clearTimeout(timer)
    socket.close()
  }
  const answers = {
    welcome({ needsToken }) {
      if (needsToken) authenticate().catch(() => socket.close())
      else if (!isSubscribed) subscribe()
    },
    page({ resources, more }) {
      for (const one of resources) set.set(`${one.resourceType}/${one.id}`, one)
      if (more) send({ op: 'more', id: ID })
    },
    delta({ kind, reference, resource, ...message }) {
      if (kind === 'leave') set.delete(reference)
      else set.set(reference, resource)
      at = message.at
      onSet(set)
    },
    ready(message) {
      at = message.at
      wait = FIRST_WAIT_MS
      onSet(set)
      onState('live')
    },
    reset() {
      at = undefined
      subscribe()
    },
    reauthenticate: () => authenticate().catch(() => socket.close()),
    error({ outcome, final }) {
      const [{ code, diagnostics }] = outcome.issue
      if (!final) return
      if (TEMPORARY.includes(code)) return socket.close()
      end()
      onState('over', diagnostics)
    },
  }
  const connect = () => {
    isSubscribed = false
    socket = new WebSocket(`${server.replace(/^http/, 'ws').replace(/\/$/, '')}/sync`)
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data)
      answers[message.op]?.(message)
    }
    socket.onclose = () => {
      if (isOver) return
      onState('waiting')
      timer = setTimeout(connect, wait * (0.5 + Math.random() / 2))
      wait = Math.min(wait * 2, LONGEST_WAIT_MS)
    }
  }
  connect()
  return end
}
