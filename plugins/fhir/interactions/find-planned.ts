/** Any search, understood and planned, page by page. https://hl7.org/fhir/R4/search.html */
import { isUtf8 } from 'node:buffer'
import type { Issue, Ruling, ServerError } from '../../../kernel/index.ts'
import { NotUtf8, TypeForbidden } from '../errors.ts'
import { checkAccept } from '../media.ts'
import { readPairs, readPrefer } from '../query.ts'
import { type Access, OPEN, toAccess } from '../search/access.ts'
import type { Asking } from '../search/asking.ts'
import { toSearchSet } from '../search/bundle.ts'
import type { Condition } from '../search/condition.ts'
import { askContained } from '../search/contained/ask.ts'
import { containedPage, countContained } from '../search/contained/page.ts'
import { explainPlans } from '../search/explain.ts'
import { MOST_INCLUDED } from '../search/include.ts'
import { linkParameters } from '../search/link-parameters.ts'
import { openPage, type PagePosition, sealPage } from '../search/page-token.ts'
import { createPatience, type SearchPatience } from '../search/patience.ts'
import type { Plan } from '../search/plan.ts'
import { readSearch, type SearchRequest } from '../search/request.ts'
import type { FhirServer } from '../server.ts'
import type { Asked } from './asked.ts'
import type { FoundPage } from './found-page.ts'
import { queryOf } from './query-of.ts'
import { type Scope, typesOf } from './search-scope.ts'
import { understand } from './understand.ts'

const ESTIMATE_MOST = 100_000 // counting for an estimate stops here

/** Parameters of the query, then those of the form. */
const parametersOf = ({ url, body }: Asked): readonly (readonly [string, string])[] => {
  const query = readPairs(queryOf(url))
  if (!(body instanceof Uint8Array)) return query
  if (!isUtf8(body)) throw NotUtf8()
  return [...query, ...readPairs(Buffer.from(body).toString('utf8'))]
}

/** Whatever in a search may name a parameter. */
const namesOf = ({ criteria, includes, revincludes, sort = '' }: SearchRequest): readonly string[] => [
  // A filter names its parameters in its value.
  ...criteria.flatMap(([name, value]) => (name.endsWith('_filter') ? [name, value] : [name])),
  ...[...includes, ...revincludes].map(({ text }) => text.slice(text.indexOf('=') + 1)),
  sort,
]

const refuse = (error: ServerError): never => {
  throw error
}

/** A search that takes too long is refused as what it is. */
export const findPlanned = async (
  server: FhirServer,
  asked: Asked,
  scope: Scope,
  ruling: Ruling,
): Promise<FoundPage> => {
  const { search, clock } = server
  const request = readSearch(parametersOf(asked), scope.type === undefined)
  const tracer = request.explain ? search.tracer() : undefined
  const patience = createPatience(asked.ctx, clock, tracer?.trace)
  try {
    return await find(server, asked, scope, ruling, request, patience, tracer)
  } catch (error) {
    throw patience.refusal(error)
  }
}

const find = async (
  server: FhirServer,
  asked: Asked,
  scope: Scope,
  ruling: Ruling,
  request: SearchRequest,
  patience: SearchPatience,
  tracer: ReturnType<FhirServer['search']['tracer']> | undefined,
): Promise<FoundPage> => {
  const { search, catalog, clock } = server
  const { criteria, planner, executor, includer, registry } = search
  const { ctx, headers } = asked
  const prefer = readPrefer(headers.prefer)
  checkAccept(headers.accept, request.presentation.format)
  await search.catchUp?.(namesOf(request))
  const types = await typesOf(server, scope, request)
  const base = { baseUrl: ctx.baseUrl, now: clock.now(), pin: await search.pin() }
  const access: Access = ruling.restrictions.length === 0 ? OPEN : toAccess(ruling, criteria, base)
  const asking: Asking = { ...base, allowed: access.conditions }
  // With nothing stored there is still a right and a wrong way to ask.
  const understood = await understand(
    server,
    request,
    types.length > 0 ? types : [...catalog.types.keys()].slice(0, 1),
    asking,
    prefer.lenient,
  )
  for (const include of [...request.includes, ...request.revincludes])
    includer.check(include, (type) => catalog.types.has(type))

  const parameters = linkParameters(understood.request, understood.count)
  const bound = `${scope.path}?${parameters}`
  const position: PagePosition =
    request.page === undefined
      ? { pin: base.pin, rid: Number.MAX_SAFE_INTEGER, keys: [] }
      : openPage(registry.key, clock, ctx.caller, bound, request.page)
  const plans: Plan[] = []
  for (const type of types) {
    const seen = await access.conditions(type)
    if (seen === undefined) {
      if (scope.type !== undefined) refuse(TypeForbidden(type))
      continue
    }
    const inside = scope.compartment === undefined ? [] : [criteria.inCompartment(type, scope.compartment, ctx.baseUrl)]
    if (inside.includes(undefined)) continue
    const conditions = [...(understood.conditions.get(type) ?? []), ...seen, ...(inside as Condition[])]
    plans.push(await planner(server.store.types.code(type) ?? 0, conditions))
  }

  const inner =
    request.contained === 'false'
      ? undefined
      : await askContained(
          search,
          server.store.types,
          scope.compartment === undefined ? scope.type : undefined,
          understood.request,
          asking,
          access,
          plans[0],
        )
  const countOnly = understood.count === 0 || request.presentation.summary === 'count'
  const issues: Issue[] = understood.ignored.map(({ name, reason }) => ({
    severity: 'warning',
    code: 'not-supported',
    diagnostics: `"${name.slice(0, 100)}" was ignored: ${reason}`,
  }))
  const isOpen = access.open
  if (tracer !== undefined)
    issues.push(...explainPlans({ plans, keys: understood.keys, typeName: server.store.types.name, isOpen }))
  const limit = understood.count + 1
  const found =
    countOnly || plans.length === 0
      ? []
      : inner === undefined
        ? await executor.page(plans, position, understood.keys, limit, patience)
        : await containedPage(executor, inner, position, limit, patience)
  const shown = found.slice(0, understood.count)
  const last = shown.at(-1)
  const accurate = countOnly || request.total === 'accurate'
  let total: number | undefined
  if (accurate || request.total === 'estimate')
    total =
      plans.length === 0
        ? 0
        : inner === undefined
          ? await executor.count(plans, position.pin, accurate ? undefined : ESTIMATE_MOST, patience)
          : await countContained(executor, inner, position.pin, patience)
  const included = await includer.include(
    request,
    shown.map(({ version: { rid, type } }) => ({ rid, type })),
    access,
    [...catalog.types.keys()],
    patience,
  )
  if (tracer !== undefined) issues.push(...(await tracer.tell(isOpen)))
  if (included.cut)
    issues.push({
      severity: 'warning',
      code: 'too-costly',
      diagnostics: `More resources were to be included than the ${MOST_INCLUDED} a page may hold; the others are left out.`,
    })
  const links = [{ relation: 'self', url: `${ctx.baseUrl}${scope.path}?${parameters}` }]
  if (found.length > shown.length && last !== undefined) {
    const page = sealPage(registry.key, clock, ctx.caller, bound, {
      pin: position.pin,
      rid: last.place ?? last.version.rid,
      keys: last.keys,
    })
    links.push({ relation: 'next', url: `${ctx.baseUrl}${scope.path}?${parameters}&_page=${page}` })
  }
  const entries = [
    ...shown.map(({ version, contained }) => ({ version, mode: 'match' as const, contained })),
    ...included.versions.map((version) => ({ version, mode: 'include' as const })),
  ]
  const text = toSearchSet({
    id: server.random.id(),
    lastUpdated: new Date(clock.now()).toISOString(),
    baseUrl: ctx.baseUrl,
    total,
    links,
    entries,
    issues,
    presentation: request.presentation,
    types: catalog.types,
  })
  return { text, versions: entries.map(({ version }) => version) }
}
