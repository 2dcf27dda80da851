/** Taps what a server of a cluster does with requests that two servers work on. */
import { createSecretKey, type KeyObject } from 'node:crypto'
import type { Host, Reply, RequestContext } from '../../../kernel/index.ts'
import { SNAPSHOT_HEADER } from '../../fhir/service.ts'
import { createReadYourWrites, type ReadYourWrites } from '../snapshot/read-your-writes.ts'
import type { SnapshotSource } from '../snapshot/snapshot-source.ts'
import { createPrimary, type RelayLimits } from './primary.ts'
import { createReceive } from './receive-relayed.ts'
import { createRelay, type RelayRequest } from './relay-requests.ts'

export interface SetUpRelayParts extends Pick<Host, 'hooks' | 'clock' | 'random'> {
  /** URL of the primary, of a replica; undefined on a server that makes changes itself. */
  readonly primaryUrl: string | undefined
  /** A key of the database for a purpose. Throws while `hasKeys` is false. */
  readonly keyFor: (purpose: string) => Buffer
  /** Whether the database is open. Left out where it always is. */
  readonly hasKeys?: () => boolean
  /** Without one there is no X-Snapshot. */
  readonly source: SnapshotSource | undefined
  readonly limits?: RelayLimits
}

/** A read stays here where this server shows the snapshot that the client asks for. */
const relayOrRead =
  (relay: RelayRequest, snapshots: ReadYourWrites | undefined) =>
  async (request: RequestContext): Promise<Reply | undefined> => {
    if (request.relays !== SNAPSHOT_HEADER) return relay(request)
    if (snapshots === undefined) return undefined
    if (await snapshots.reach(request)) {
      // It may have looked since the request arrived.
      snapshots.announce(request)
      return undefined
    }
    const reply = await relay(request)
    const given = request.headers[SNAPSHOT_HEADER] as string
    return { ...reply, headers: { [SNAPSHOT_HEADER]: given, ...reply.headers } }
  }

/** Returns what ends the connections to the primary. */
export const setUpRelay = (parts: SetUpRelayParts): { stop(): Promise<void> } => {
  const { hooks, clock, random, primaryUrl, keyFor, hasKeys = () => true, source, limits } = parts
  // With a Buffer as its key an HMAC takes four times as long: each commit makes one.
  const once = (purpose: string): (() => KeyObject) => {
    let key: KeyObject | undefined
    return () => {
      key ??= createSecretKey(keyFor(purpose))
      return key
    }
  }
  const key = once('relay')
  const snapshots = source && createReadYourWrites({ source, key: once('snapshot'), clock })
  hooks.beforeRequest.tap('receive from a replica', createReceive({ isPrimary: primaryUrl === undefined, key, clock }))
  if (primaryUrl === undefined) {
    if (snapshots !== undefined) {
      hooks.beforeRequest.tapPromise('check the snapshot asked for', snapshots.check)
      hooks.onCommit.tap('announce the snapshot of the change', snapshots.announceChange)
    }
    return { stop: async () => undefined }
  }
  const primary = createPrimary(primaryUrl, limits)
  const relay = createRelay({ primary, key, server: random.id(), clock })
  if (snapshots !== undefined)
    hooks.arrive.tap('announce the snapshot', (request) => {
      // During the start requests arrive, too, and are refused with 503.
      if (hasKeys()) snapshots.announce(request)
    })
  hooks.relay.tapPromise('send to the primary', relayOrRead(relay, snapshots))
  return { stop: () => primary.close() }
}
