/** The messages of /sync, as JSON texts of a WebSocket or events of POST /sync. */
import { type Static, Type } from 'typebox'

const closed = { additionalProperties: false } as const

/** The client's name for a live query, unique on its connection. */
const Id = Type.String({ minLength: 1, maxLength: 64 })
const Wanted = {
  id: Id,
  /** One type and search parameters: `Observation?patient=Patient/1&code=x`. */
  query: Type.String({ minLength: 1, maxLength: 8_192 }),
  /** The last `at` of this query, to get only what has changed since. */
  resume: Type.Optional(Type.String({ maxLength: 256 })),
}

export const FromClient = Type.Union([
  Type.Object({ op: Type.Literal('auth'), token: Type.String({ pattern: '^[A-Za-z0-9._~+/-]{1,8192}=*$' }) }, closed),
  Type.Object({ op: Type.Literal('subscribe'), ...Wanted }, closed),
  /** Asks for the next page. */
  Type.Object({ op: Type.Literal('more'), id: Id }, closed),
  Type.Object({ op: Type.Literal('unsubscribe'), id: Id }, closed),
])
export type FromClient = Static<typeof FromClient>

/** The body of POST /sync. */
export const Queries = Type.Object(
  { queries: Type.Array(Type.Object(Wanted, closed), { minItems: 1, maxItems: 1_000 }) },
  closed,
)
export type Queries = Static<typeof Queries>

const Resource = Type.Object({ resourceType: Type.String() })
const At = Type.String()

export const FromServer = Type.Union([
  /** `expires`: when the token ends, an instant. */
  Type.Object({ op: Type.Literal('welcome'), needsToken: Type.Boolean(), expires: Type.Optional(Type.String()) }),
  Type.Object({ op: Type.Literal('page'), id: Id, resources: Type.Array(Resource), more: Type.Boolean() }),
  /** The set is whole as of `at`. */
  Type.Object({ op: Type.Literal('ready'), id: Id, at: At }),
  /** `resource` is left out of a `leave`. */
  Type.Object({
    op: Type.Literal('delta'),
    ids: Type.Array(Id, { minItems: 1 }),
    at: At,
    kind: Type.Union([Type.Literal('enter'), Type.Literal('change'), Type.Literal('leave')]),
    reference: Type.String(),
    version: Type.Integer(),
    resource: Type.Optional(Resource),
  }),
  /** The query has ended, and what is known of it is void: subscribe again without `resume`. */
  Type.Object({
    op: Type.Literal('reset'),
    id: Id,
    reason: Type.Union([Type.Literal('gap'), Type.Literal('slow'), Type.Literal('access'), Type.Literal('meaning')]),
  }),
  /** The token ends at `before`, an instant: send `auth` with another one of the same caller. */
  Type.Object({ op: Type.Literal('reauthenticate'), before: Type.String() }),
  /** `final`: the query, or without `id` the connection, has ended. */
  Type.Object({
    op: Type.Literal('error'),
    id: Type.Optional(Id),
    outcome: Type.Object({ resourceType: Type.Literal('OperationOutcome') }),
    final: Type.Boolean(),
  }),
])
export type FromServer = Static<typeof FromServer>
