/** The connections to the primary, which are opened when the first request is sent. */
import type { Pool } from 'undici'
import { busy, exchange, type PrimaryAnswer, type Sending } from './exchange.ts'

/** Milliseconds. */
export interface RelayTimes {
  readonly connectMs: number
  /** For the head of the answer, once the request is sent; also for a connection that is free. */
  readonly headMs: number
  /** Without a byte of the answer. */
  readonly silenceMs: number
  /** Of a connection that is not used: less than the 65 s after which the primary closes it. */
  readonly keepAliveMs: number
}

export interface RelayLimits extends RelayTimes {
  readonly connections: number
  /** Requests that may wait for a connection. */
  readonly waiting: number
}

export const RELAY_LIMITS: RelayLimits = Object.freeze({
  connectMs: 1_000,
  headMs: 30_000,
  silenceMs: 30_000,
  keepAliveMs: 10_000,
  connections: 64,
  waiting: 256,
})

export interface Primary {
  /** Throws PrimaryAway, PrimaryBusy or RelayUnknown. */
  ask(sending: Omit<Sending, 'waitMs'>): Promise<PrimaryAnswer>
  /** Ends connections that are not used, and waits for the others. */
  close(): Promise<void>
}

/** `url`: that of the primary; its path is put in front of those of requests. */
export const createPrimary = (url: string, limits: RelayLimits = RELAY_LIMITS): Primary => {
  const { origin, pathname } = new URL(url)
  const prefix = pathname.replace(/\/+$/, '')
  const { connectMs, headMs, silenceMs, keepAliveMs, connections, waiting } = limits
  let pool: Promise<Pool> | undefined
  const open = async (): Promise<Pool> => {
    const { Pool } = await import('undici')
    return new Pool(origin, {
      connections,
      pipelining: 1,
      allowH2: false,
      connect: { timeout: connectMs },
      headersTimeout: headMs,
      bodyTimeout: silenceMs,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
    })
  }
  let asked = 0
  return {
    async ask(sending) {
      if (asked >= connections + waiting) throw busy()
      asked += 1
      const done = (): void => {
        asked -= 1
      }
      try {
        pool ??= open()
        const answer = await exchange(await pool, { ...sending, path: `${prefix}${sending.path}`, waitMs: headMs })
        answer.body.once('close', done)
        return answer
      } catch (error) {
        done()
        throw error
      }
    },
    async close() {
      await (await pool)?.close()
    },
  }
}
