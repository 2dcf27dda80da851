/** What a login remembers between the redirect to the provider and the callback. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { LoginFailure } from './login-failure.ts'

const BYTES = 32

/** 43 characters of base64url: 256 random bits. RFC 7636, section 4.1. */
const newSecret = (): string => randomBytes(BYTES).toString('base64url')
const hashOf = (text: string): string => hash('sha256', text, 'base64url')

interface Remembered {
  readonly stateHash: string
  readonly nonce: string
  readonly verifier: string
  /** When new credentials were asked for, in seconds since the epoch. */
  readonly forcedAt?: number
}

export interface NewLogin {
  readonly state: string
  readonly nonce: string
  readonly challenge: string
  readonly memory: string
}

/** The state begins with the id of the pending request, so only its hash is kept. */
export const newLogin = (request: string, forcedAt: number | undefined): NewLogin => {
  const state = `${request}.${newSecret()}`
  const [nonce, verifier] = [newSecret(), newSecret()]
  const remembered: Remembered = {
    ...{ stateHash: hashOf(state), nonce, verifier },
    ...(forcedAt !== undefined && { forcedAt }),
  }
  return { state, nonce, challenge: hashOf(verifier), memory: JSON.stringify(remembered) }
}

/** Throws a `LoginFailure` unless the callback has exactly the state of this login. */
export const recall = (memory: string, callback: URLSearchParams): Remembered & { readonly state: string } => {
  const remembered = JSON.parse(memory) as Remembered
  const [state = '', ...more] = callback.getAll('state')
  if (more.length > 0 || !timingSafeEqual(Buffer.from(hashOf(state)), Buffer.from(remembered.stateHash)))
    throw new LoginFailure('refused', 'the state of the callback is not the one of this login')
  return { ...remembered, state }
}
