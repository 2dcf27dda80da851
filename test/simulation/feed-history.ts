/**
 * The feed of changes in histories that a seed decides: servers that write and servers that follow, on a database that
 * crashes, loses what is not on disk, is taken over and is restored, over connections that are lost. It drives the code of
 * the server on a database that is a few variables. Rules: nothing acknowledged or told is lost; what a server keeps is
 * never older than the place that its feed has told of, and right once it has caught up; who brings the place of a write
 * reads that write or a newer one; a place that is forged is refused, and no other one.
 */
import { pino } from 'pino'
import type { Clock } from '../../kernel/index.ts'
import type { FeedPosition } from '../../plugins/database/feed/change-feed.ts'
import { type CommitOrder, createCommitOrder } from '../../plugins/database/feed/commit-order.ts'
import type { FollowLook, FollowPort } from '../../plugins/database/feed/follow-port.ts'
import { type Follower, startFollower } from '../../plugins/database/feed/follower.ts'
import { createSeededRandom, type SeededRandom } from '../fuzz/random.ts'
import { changeOf, createFeedDatabase, type FeedDatabase, type Logged } from './feed-database.ts'
import { createKeeper, type FeedFault, type Keeper } from './feed-keeper.ts'
import { createTokens, forge, type Token, type Tokens } from './feed-tokens.ts'
import { createSimulatedWorld, type SimulatedWorld } from './simulated-world.ts'

const FAULTS_MS = 20_000
const CALM_MS = 8_000
const KEYS = 4
const FOLLOWERS = 2
const LATER_MS = 3_000 // after which a client may send a token once more
const GONE = 'cluster/snapshot-gone'

const log = pino({ level: 'silent' })

interface Session {
  isOpen: boolean
}

export interface FeedOutcome {
  /** Events that were simulated. */
  steps: number
  /** What was wrong, in words. */
  readonly broken: string[]
  gaps: number
  tokens: number
  acknowledged: number
}

/** Rows without changes in the place of those that are not there, as if nothing had been committed. */
const missingRows = (database: FeedDatabase, from: number, rows: readonly { readonly seq: number }[]) => {
  const there = new Set(rows.map(({ seq }) => seq))
  return database.log
    .map(({ epoch }, at) => ({ seq: at + 1, epoch, body: '[]' }))
    .filter(({ seq }) => seq > from && !there.has(seq))
}

export const simulateFeed = async (seed: number, planted?: FeedFault): Promise<FeedOutcome> => {
  const random: SeededRandom = createSeededRandom(seed)
  const world: SimulatedWorld = createSimulatedWorld()
  const database = createFeedDatabase()
  const sessions = new Set<Session>()
  const found: FeedOutcome = { steps: 0, broken: [], gaps: 0, tokens: 0, acknowledged: 0 }
  const isCalm = (): boolean => world.now >= FAULTS_MS
  const delay = (): number => (random.chance(0.05) ? random.int(1_500) : random.int(15))
  const clock: Clock = {
    monotonic: () => world.now,
    now: () => world.now,
    deadline(ms) {
      const controller = new AbortController()
      world.after(ms, () => controller.abort())
      return controller.signal
    },
  }
  const open = (): Session => {
    const session = { isOpen: true }
    sessions.add(session)
    return session
  }
  /** All connections are gone with the processes of the database. */
  const cutAll = (): void => {
    for (const session of sessions) session.isOpen = false
    sessions.clear()
  }
  /** What was acknowledged to clients, or told by a feed. A restored database is one that the operator has chosen. */
  const owed = new Map<number, string>()
  const owe = (seq: number, why: string): void => {
    const entry = database.log[seq - 1]
    owed.set(seq, entry === undefined ? 'nothing' : `${entry.epoch} ${entry.key} ${entry.version} ${why}`)
    if (entry === undefined) found.broken.push(`${why} ${seq}, which is not there`)
  }
  const checkOwed = (): void => {
    for (const seq of owed.keys()) if (seq > database.log.length) found.broken.push(`lost ${seq}: ${owed.get(seq)}`)
  }

  /** `restores`: those that it has seen by a look. */
  const followers: {
    readonly keeper: Keeper
    tokens: Tokens
    follower: Follower | undefined
    restores: number
  }[] = []
  const told: ((seq: number) => void)[] = []
  /** What clients do with tokens is decided apart, so that it does not change the other events. */
  const clients: SeededRandom = createSeededRandom(seed + 0x10000)
  const parts = { database, world, clock, random: clients }
  /** `version` of the key was acknowledged with the token, which the database was restored `restores` times before. */
  const tokenRead = async (key: number, version: number, token: Token, restores: number): Promise<void> => {
    const one = clients.pick(followers)
    const { keeper, follower, tokens } = one
    // Until it has looked, a server does not know that the database was restored, and numbers mean other commits.
    const isSame = (): boolean => restores === database.state.restores && restores === one.restores
    // It answers nothing before its start.
    if (follower === undefined || !isSame()) return
    keeper.read(key)
    const isForged = clients.chance(0.1)
    if (planted !== 'looks at no token') {
      const text = isForged ? forge(token, token.seq + 1) : token.text
      let outcome = await tokens.reach(text)
      const isSentOn = outcome === 'sent on'
      if (isSentOn) {
        const { tokens: own, state } = primary
        outcome = await own.check(text)
        if (state.isDead || !state.session.isOpen) return
      }
      if (!isSame()) return
      // No crash takes back what a token stands for.
      if (outcome !== (isForged ? GONE : 'here'))
        found.broken.push(`${outcome} for a ${isForged ? 'forged' : 'good'} token`)
      // The server that writes caches versions by its own writes, not by the feed.
      if (isSentOn || outcome !== 'here') return
    }
    found.tokens += 1
    const got = keeper.read(key)
    if (got < version) found.broken.push(`read ${got} of key ${key} with the token of ${version}`)
  }

  const startPrimary = () => {
    const keeper = createKeeper(database, planted, log)
    const state = { isDead: false, session: open(), restores: database.state.restores }
    const relaxed: { readonly seq: number; readonly acknowledge: () => void }[] = []
    const announce = ({ seq }: FeedPosition): void => {
      for (const tell of told) if (!random.chance(0.2)) world.after(delay(), () => tell(seq))
    }
    const order: CommitOrder = createCommitOrder({
      publish(commit) {
        if (state.isDead) return
        // A database may be restored under a server that has not noticed.
        if (state.restores === database.state.restores) owe(commit.seq, 'told')
        keeper.hub.commit(commit)
        announce(commit)
      },
      gap(at) {
        if (!state.isDead) found.gaps += 1
        keeper.hub.gap(at)
      },
    })
    order.enter(database.take())
    keeper.hub.open(
      { epoch: order.epoch, seq: order.lastPublished },
      { known: () => order.known, look: async () => undefined },
    )
    const source = {
      get current() {
        return { epoch: order.epoch, seq: planted === 'announces early' ? order.known : order.onDisk }
      },
      ...{ look: async () => undefined, changed: keeper.hub.feed.changed },
    }
    let tokens = createTokens({ ...parts, source })
    tokens.enter(order.epoch)

    const write = (): void => {
      if (state.isDead) return
      world.after(random.int(60), write)
      if (!state.session.isOpen || isCalm()) return
      const { session } = state
      const { epoch } = order
      const key = random.int(KEYS)
      const isRelaxed = random.chance(0.5)
      const isLost = random.chance(0.04)
      const sent = order.sent()
      const { restores } = database.state
      world.after(delay(), () => {
        // The statement arrives, or the connection was lost before.
        if (!session.isOpen || database.state.epoch !== epoch) return world.after(delay(), () => sent.failed())
        const seq = database.commit(key, isRelaxed)
        const { version } = database.log[seq - 1] as Logged
        world.after(delay(), () => {
          if (isLost || !session.isOpen || state.isDead) return sent.failed()
          const acknowledge = (): void => {
            found.acknowledged += 1
            owe(seq, 'acknowledged')
            const token = tokens.announced()
            if (token === undefined) return
            if (clients.chance(0.5)) void tokenRead(key, version, token, restores)
            if (clients.chance(0.2))
              world.after(clients.int(LATER_MS), () => void tokenRead(key, version, token, restores))
          }
          const isDurable = !isRelaxed || planted === 'acknowledges early'
          sent.passed(seq, [changeOf(key, version)], isDurable)
          if (isDurable) acknowledge()
          else relaxed.push({ seq, acknowledge })
        })
      })
    }
    const flush = (): void => {
      if (state.isDead) return
      world.after(20 + random.int(60), flush)
      const { session } = state
      const { known } = order
      const waiting = relaxed.filter(({ seq }) => seq <= known)
      world.after(delay(), () => {
        if (!session.isOpen || state.isDead) return
        database.state.flushed = database.log.length
        world.after(delay(), () => {
          if (!session.isOpen || state.isDead) return
          order.durable(known)
          for (const one of waiting) if (relaxed.includes(one)) one.acknowledge()
          for (const one of waiting) if (relaxed.includes(one)) relaxed.splice(relaxed.indexOf(one), 1)
        })
      })
    }
    const beat = (): void => {
      if (state.isDead) return
      world.after(1_000, beat)
      const { session } = state
      const compare = order.look()
      const { lastPublished: durable } = order
      world.after(delay(), () => {
        if (!session.isOpen || state.isDead || database.state.epoch !== order.epoch) return
        database.state.beat += 1
        database.state.durable = Math.max(database.state.durable, durable)
        const seq = database.log.length
        world.after(delay(), () => (session.isOpen && !state.isDead ? compare(seq) : undefined))
      })
    }
    const read = (): void => {
      if (state.isDead) return
      world.after(random.int(80), read)
      // A holder whose connection is gone answers nothing.
      if (state.session.isOpen) keeper.read(random.int(KEYS))
    }
    for (const begin of [write, flush, beat, read]) begin()
    return {
      ...{ keeper, state, order },
      get tokens() {
        return tokens
      },
      /** On a new connection, which is a new epoch. */
      reconnect() {
        state.session = open()
        // Another server takes the place of one whose database was restored.
        if (state.restores !== database.state.restores) tokens = createTokens({ ...parts, source })
        state.restores = database.state.restores
        relaxed.length = 0
        order.enter(database.take())
      },
    }
  }

  let primary = startPrimary()
  const tokensOf = ({ hub: { feed } }: Keeper): Tokens => {
    const source = {
      get current() {
        const { status } = feed
        return status === undefined || status.epoch === 0 ? undefined : status
      },
      ...{ look: feed.look, changed: feed.changed },
    }
    return createTokens({ ...parts, source })
  }
  const connect = (own: (typeof followers)[number]) => async (): Promise<FollowPort> => {
    const session = open()
    const ask = <T>(work: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        world.after(delay(), () => {
          if (!session.isOpen) return reject(new Error('closed'))
          const value = work()
          world.after(delay(), () => (session.isOpen ? resolve(value) : reject(new Error('closed'))))
        })
      })
    return {
      listen: (tell) => ask(() => void told.push((seq) => (session.isOpen ? tell(seq) : undefined))),
      look(at) {
        let seen = 0
        const looked = ask((): FollowLook => {
          const { epoch, beat } = database.state
          seen = database.state.restores
          const durable = planted === 'follows what is not on disk' ? database.log.length : database.state.durable
          const rows = [...database.rows.values()].filter(({ seq }) => seq > (at?.seq ?? Number.MAX_SAFE_INTEGER))
          const epochs = database.epochs
            .filter((one) => one.epoch >= Math.min(at?.epoch ?? 0, epoch))
            .map((one) => (planted === 'compares no terms' ? { ...one, term: '' } : one))
          if (planted === 'sees no missing row' && at !== undefined) rows.push(...missingRows(database, at.seq, rows))
          return {
            mark: { epoch, seq: database.log.length },
            durable,
            epochs,
            rows: rows.sort((one, other) => one.seq - other.seq).slice(0, 20),
            hasMore: rows.length > 20,
            beat: String(beat),
          }
        })
        return looked.then((look) => {
          // A server ends when its database was restored, and starts anew: it knows no epochs.
          if (own.restores !== seen) own.tokens = tokensOf(own.keeper)
          own.restores = seen
          return look
        })
      },
      attend: () => ask(() => undefined),
      dismiss: () => ask(() => undefined),
      close: () => {
        session.isOpen = false
      },
    }
  }
  for (let n = 0; n < FOLLOWERS; n += 1) {
    const keeper = createKeeper(database, planted, log)
    const own: (typeof followers)[number] = {
      ...{ keeper, tokens: tokensOf(keeper), follower: undefined, restores: 0 },
    }
    followers.push(own)
    const feed = {
      ...keeper.hub,
      commit: (commit: Parameters<typeof keeper.hub.commit>[0]) => {
        owe(commit.seq, 'followed')
        keeper.hub.commit(commit)
      },
      gap: (at: FeedPosition) => {
        found.gaps += 1
        // The gap that only a lost connection makes is told at the place that was told last.
        const isCut = at.seq === keeper.hub.feed.status?.seq
        if (!(isCut && planted === 'stays after a cut')) keeper.hub.gap(at)
      },
    }
    const self = { server: String(n), host: '', boot: '', pid: n, build: '' }
    const start = (): void => {
      startFollower({ connect: connect(own), self, feed, clock, log }).then(
        (follower) => {
          own.follower = follower
        },
        () => world.after(300, start),
      )
    }
    start()
    const read = (): void => {
      world.after(random.int(80), read)
      if (own.follower !== undefined) keeper.read(random.int(KEYS))
    }
    read()
  }

  const whenBack = (): void =>
    world.after(100 + random.int(800), () => {
      if (!primary.state.isDead && !primary.state.session.isOpen) primary.reconnect()
    })
  const fault = (): void => {
    const kind = random.int(6)
    if (kind === 0) {
      // At the last moment somebody commits what will not be on disk, and everybody reads it.
      const key = random.int(KEYS)
      if (primary.state.session.isOpen) database.commit(key, true)
      for (const { keeper, follower } of followers) {
        keeper.kept.delete(key)
        if (follower !== undefined) keeper.read(key)
      }
      database.crash()
      cutAll()
      whenBack()
    }
    if (kind === 1) {
      primary.state.isDead = true
      world.after(random.int(500), () => {
        primary = startPrimary()
      })
    }
    if (kind === 2) {
      database.state.hasRows = false
      world.after(random.int(1_500), () => {
        database.state.hasRows = true
      })
    }
    if (kind === 3) for (const seq of database.rows.keys()) if (random.chance(0.9)) database.rows.delete(seq)
    if (kind === 4 && random.chance(0.3)) {
      database.restore(random.int(database.state.flushed + 1))
      owed.clear()
      cutAll()
      whenBack()
    }
    // One follower's connection.
    if (kind === 5)
      for (const session of sessions)
        if (random.chance(0.2) && session !== primary.state.session) session.isOpen = false
    const next = random.int(2_500)
    if (world.now + next < FAULTS_MS - 2_000) world.after(next, fault)
  }
  world.after(random.int(2_000), fault)

  const keepers = (): readonly Keeper[] => [
    ...(primary.state.isDead || !primary.state.session.isOpen ? [] : [primary.keeper]),
    ...followers.filter(({ follower }) => follower !== undefined).map(({ keeper }) => keeper),
  ]
  await world.run(FAULTS_MS + CALM_MS, () => {
    checkOwed()
    if (database.state.restores > 0) return
    for (const keeper of keepers())
      for (const key of keeper.wrong(false)) found.broken.push(`kept a version of ${key} that is old or lost`)
  })
  for (const keeper of keepers()) {
    const { status } = keeper.hub.feed
    if (status?.seq !== database.log.length || status.epoch !== database.state.epoch)
      found.broken.push(`is at ${status?.epoch}.${status?.seq} of ${database.state.epoch}.${database.log.length}`)
    for (const key of keeper.wrong(true)) found.broken.push(`kept a wrong version of ${key} in the end`)
  }
  found.steps = world.steps
  return found
}
