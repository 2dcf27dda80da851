/** Sends transaction Bundles to a server and keeps what they hold in memory, under the ids the server gave. */
import type { PopulationBundle } from '../bench/corpus/population.ts'
import type { TestServer } from '../support/server-with.ts'
import type { Resource } from './record.ts'

const URN = /urn:uuid:[0-9a-f-]{36}/g

/** Throws when a Bundle is not taken. */
export const loadRecords = async (server: TestServer, bundles: readonly PopulationBundle[]): Promise<Resource[]> => {
  const records = new Map<string, Resource>()
  const staffFirst = [...bundles].sort((one, other) => Number(one.isOfPatients) - Number(other.isOfPatients))
  for (const { name, text } of staffFirst) {
    const answer = await server.inject({
      method: 'POST',
      url: '/',
      headers: { 'content-type': 'application/fhir+json' },
      payload: text,
    })
    if (answer.statusCode !== 200) throw new Error(`${name}: ${answer.statusCode} ${answer.body.slice(0, 500)}`)
    const { entry } = JSON.parse(text) as { entry: { fullUrl: string; resource: Resource }[] }
    const answered = answer.json().entry as { response: { location: string }; resource?: Resource }[]
    const keys = entry.map((_one, at) => {
      const [type, id] = (answered[at]?.response.location ?? '').replace(/^https?:\/\/[^/]+\//, '').split('/')
      return `${type}/${id}`
    })
    const named = new Map(entry.map(({ fullUrl }, at) => [fullUrl, keys[at] as string]))
    for (const [at, { resource }] of entry.entries()) {
      const own = JSON.stringify(resource).replace(URN, (urn) => named.get(urn) ?? urn)
      records.set(keys[at] as string, { ...JSON.parse(own), id: (keys[at] as string).split('/')[1] })
    }
  }
  // References by condition are those to people and places, who have the one identifier they are found by.
  const byIdentifier = new Map(
    [...records].flatMap(([key, { resourceType, identifier = [] }]) =>
      identifier.map((one: Resource) => [`${resourceType}?identifier=${one.system}|${one.value}`, key]),
    ),
  )
  return [...records.values()].map((one) =>
    JSON.parse(
      JSON.stringify(one, (member, value) => (member === 'reference' ? (byIdentifier.get(value) ?? value) : value)),
    ),
  )
}
