/** Waits for work that others wait for as well, but no longer than until the signal aborts. */
import { LoginFailure } from './login-failure.ts'

export const within = <T>(signal: AbortSignal, work: Promise<T>): Promise<T> => {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const giveUp = (): void => reject(new LoginFailure('unavailable', 'the provider does not answer in time'))
  if (signal.aborted) giveUp()
  signal.addEventListener('abort', giveUp, { once: true })
  work.then(resolve, reject)
  return promise.finally(() => signal.removeEventListener('abort', giveUp))
}
