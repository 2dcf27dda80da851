/** A primary and replicas as they are shipped, in processes of their own on one PostgreSQL. */
import type { Cores } from '../bench/cores.ts'
import { createPlace, type House, startHouse } from '../bench/house.ts'
import { type PostgresOptions, startPostgres } from '../support/postgres.ts'

const SECRETS = { dcr_token: 'd'.repeat(32), confidential_secret: 'c'.repeat(32) }
const NAME = 'cluster'

export interface ClusterPlace {
  /** `http://127.0.0.1:port` */
  readonly primary: string
  readonly replicas: readonly string[]
  stop(): Promise<void>
}

const ANY_CORE: Cores = { server: undefined, description: '' }

export interface ClusterPlaceOptions {
  /** Lines of postgresql.conf. */
  readonly lines?: PostgresOptions['settings']
  /** Of a process that is bound to a core: its servers are not. */
  readonly cores?: Cores
}

export const openCluster = async (
  replicas: number,
  { lines = {}, cores = ANY_CORE }: ClusterPlaceOptions = {},
): Promise<ClusterPlace> => {
  const postgres = await startPostgres({ settings: lines })
  await postgres.createDatabase(NAME)
  const places = Array.from({ length: replicas + 1 }, createPlace)
  const houses: House[] = []
  const stop = async (): Promise<void> => {
    await Promise.all(houses.toReversed().map((house) => house.stop()))
    for (const place of places) place.remove()
    await postgres.stop()
  }
  try {
    for (const place of places) {
      const primaryUrl = houses[0]?.address
      const settings = {
        database: { kind: 'postgres', postgres_url: postgres.url(undefined, NAME) },
        conformance: { update_as_create: true },
        smart: SECRETS,
        cluster: primaryUrl === undefined ? {} : { role: 'replica', primary_url: primaryUrl },
      }
      houses.push(await startHouse({ cores }, place, { settings, unbound: true }))
    }
    const [primary, ...others] = houses.map(({ address }) => address) as [string, ...string[]]
    return { primary, replicas: others, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
