/**
 * Holds what clients were told against the history of every resource: versions without gaps, each made by one answer and
 * equal to the version before with the effect of that answer, and of each key one current resource at most.
 */
import type { Effect, Made, Outcome, Send } from './clients.ts'

type Json = Record<string, any>

interface Version {
  readonly number: number
  readonly method: string
  readonly resource: Json | undefined
}

const readHistory = async (send: Send): Promise<ReadonlyMap<string, readonly Version[]>> => {
  const found = new Map<string, Version[]>()
  let url: string | undefined = '/Patient/_history?_count=500'
  while (url !== undefined) {
    const bundle = JSON.parse((await send({ method: 'GET', url })).body) as Json
    for (const { request, response, resource, fullUrl } of bundle.entry ?? []) {
      const id = String(fullUrl).split('/').at(-1) as string
      const list = found.get(id) ?? []
      list.push({ number: Number(/"(\d+)"/.exec(response.etag)?.[1]), method: request.method, resource })
      found.set(id, list)
    }
    const next = bundle.link.find(({ relation }: Json) => relation === 'next')?.url as string | undefined
    url = next?.replace(/^https?:\/\/[^/]+/, '')
  }
  return found
}

/** What the clients care about of a resource. */
interface Content {
  readonly key: string
  readonly names: readonly string[]
  readonly text: string | undefined
  readonly tags: readonly string[]
}

const contentOf = ({ identifier, name = [], maritalStatus, meta }: Json): Content => ({
  key: identifier[0].value,
  names: name.map(({ family }: Json) => family),
  text: maritalStatus?.text,
  tags: (meta.tag ?? []).map(({ code }: Json) => code),
})

const apply = (before: Content | undefined, effect: Effect): Content | undefined => {
  if (effect.kind === 'put') return { key: effect.key, names: [effect.mark], text: undefined, tags: [] }
  if (before === undefined) return undefined
  if (effect.kind === 'name') return { ...before, names: [...before.names, effect.mark] }
  if (effect.kind === 'text') return { ...before, text: effect.mark }
  return { ...before, tags: [...before.tags, effect.mark] }
}

/** What is wrong, in sentences; empty when nothing is. */
export const checkHistory = async (send: Send, { made, deletions }: Outcome): Promise<readonly string[]> => {
  const wrong: string[] = []
  const history = await readHistory(send)
  const byVersion = new Map<string, Made>()
  const unplaced: Made[] = []
  for (const one of made) {
    if (one.id === '') unplaced.push(one)
    else if (byVersion.has(`${one.id}/${one.version}`)) wrong.push(`two answers made ${one.id}/${one.version}`)
    else byVersion.set(`${one.id}/${one.version}`, one)
  }
  let deleted = 0
  const current = new Map<string, string>()
  for (const [id, versions] of history) {
    let before: Content | undefined
    for (const [at, { number, method, resource }] of [...versions].reverse().entries()) {
      if (number !== at + 1) wrong.push(`${id} has version ${number} in place of ${at + 1}`)
      if (resource === undefined) {
        deleted += 1
        if (method !== 'DELETE') wrong.push(`${id}/${number} has no content`)
        before = undefined
        continue
      }
      const content = contentOf(resource)
      const place = `${id}/${number}`
      const placed = unplaced.findIndex(
        ({ effect, version }) => version === number && effect.mark === content.names[0] && content.names.length === 1,
      )
      const answer = byVersion.get(place) ?? (placed === -1 ? undefined : unplaced.splice(placed, 1)[0])
      byVersion.delete(place)
      if (answer === undefined) wrong.push(`nobody was told of ${place}`)
      else if (JSON.stringify(apply(before, answer.effect)) !== JSON.stringify(content))
        wrong.push(`${place} is ${JSON.stringify(content)}, not ${JSON.stringify(apply(before, answer.effect))}`)
      before = content
    }
    if (before === undefined) continue
    const other = current.get(before.key)
    if (other !== undefined) wrong.push(`${before.key} is both ${other} and ${id}`)
    current.set(before.key, id)
  }
  for (const place of byVersion.keys()) wrong.push(`${place} was answered and is not there`)
  for (const { effect } of unplaced) wrong.push(`a change with ${effect.mark} was answered and is not there`)
  if (deleted !== deletions) wrong.push(`${deletions} deletions were answered, ${deleted} are there`)
  return wrong
}
