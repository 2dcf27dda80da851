/** The fences of X-Snapshot: which texts are refused, and which reads are not answered here. */
import type { Fence } from './fence.ts'

export const SNAPSHOT_FENCES: readonly Fence[] = [
  {
    name: 'a malformed X-Snapshot is refused',
    file: 'plugins/cluster/snapshot/read-your-writes.ts',
    check: 'if (token === undefined) throw SnapshotMalformed()',
    planted: 'if (token === undefined) return then({ epoch: 0, seq: 0 })',
    test: 'test/plugins/cluster/snapshot.test.ts',
  },
  {
    name: 'the MAC of X-Snapshot is compared',
    file: 'plugins/cluster/snapshot/snapshot-token.ts',
    check: 'isOf: (key, term) => timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(key, snapshot, term))),',
    planted: 'isOf: () => true,',
    test: 'test/plugins/cluster/snapshot.test.ts',
  },
  {
    name: 'the MAC of X-Snapshot covers the number of the commit',
    file: 'plugins/cluster/snapshot/snapshot-token.ts',
    check: 'seq}\\n',
    planted: 'epoch}\\n',
    test: 'test/plugins/cluster/snapshot.test.ts',
  },
  {
    name: 'the MAC of X-Snapshot covers the random text of the epoch',
    file: 'plugins/cluster/snapshot/snapshot-token.ts',
    check: 'term}`)',
    planted: 'seq}`)',
    test: 'test/plugins/cluster/snapshot.test.ts',
  },
  {
    name: 'an X-Snapshot of an unknown epoch is refused',
    file: 'plugins/cluster/snapshot/read-your-writes.ts',
    check: 'if (epoch === undefined || !token.isOf(key(), epoch.term)) throw SnapshotGone()',
    planted:
      'if (epoch !== undefined && !token.isOf(key(), epoch.term)) throw SnapshotGone()\n      if (epoch === undefined) return then(snapshot)',
    test: 'test/plugins/cluster/snapshot.test.ts',
  },
  {
    name: 'an X-Snapshot of a lost commit is refused',
    file: 'plugins/cluster/snapshot/read-your-writes.ts',
    check: 'if (lastSeq !== undefined && seq > lastSeq) throw SnapshotGone()',
    planted: '',
    test: 'test/plugins/cluster/snapshot.test.ts',
  },
  {
    name: 'the primary refuses an X-Snapshot that is newer than its newest state',
    file: 'plugins/cluster/snapshot/read-your-writes.ts',
    check: 'if (!isReached(snapshot)) throw SnapshotAhead()',
    planted: '',
    test: 'test/plugins/cluster/snapshot.test.ts',
  },
  {
    name: 'the primary checks X-Snapshot',
    file: 'plugins/cluster/relay/set-up-relay.ts',
    check: "hooks.beforeRequest.tapPromise('check the snapshot asked for', snapshots.check)",
    planted: '',
    test: 'test/plugins/cluster/snapshot.test.ts',
  },
  {
    name: 'a replica answers only from the state of X-Snapshot or a newer one',
    file: 'plugins/cluster/snapshot/read-your-writes.ts',
    check: 'return isReached(snapshot) || (await wait(snapshot, request))',
    planted: 'return true',
    test: 'test/plugins/cluster/snapshot.test.ts',
  },
  {
    name: 'a replica looks into the database before it waits',
    file: 'plugins/cluster/snapshot/read-your-writes.ts',
    check: 'await source.look(snapshot).catch(() => undefined)',
    planted: '',
    test: 'test/plugins/cluster/snapshot.test.ts',
  },
  {
    name: 'a state of an earlier epoch does not cover one of a later epoch',
    file: 'plugins/cluster/snapshot/snapshot-source.ts',
    check: 'one.epoch >= other.epoch && one.seq >= other.seq',
    planted: 'one.seq >= other.seq',
    test: 'test/plugins/cluster/snapshot.test.ts',
  },
  {
    name: 'a state with an earlier number does not cover one with a later number',
    file: 'plugins/cluster/snapshot/snapshot-source.ts',
    check: 'one.epoch >= other.epoch && one.seq >= other.seq',
    planted: 'one.epoch >= other.epoch',
    test: 'test/plugins/cluster/snapshot.test.ts',
  },
  {
    name: 'a read with X-Snapshot is no direct answer of a replica',
    file: 'kernel/direct-router.ts',
    check: 'if (opened.relayHeader !== undefined && request.headers[opened.relayHeader] !== undefined) return false',
    planted: '',
    test: 'test/plugins/cluster/snapshot.test.ts',
  },
  {
    name: 'reads of a replica respect X-Snapshot',
    file: 'plugins/fhir/http/routes.ts',
    check: 'relay: CHANGES.has(name) || SNAPSHOT_HEADER,',
    planted: 'relay: (CHANGES.has(name) || undefined) as true,',
    test: 'test/server/cluster/replica.test.ts',
  },
]
