/**
 * Gates, by which plugins refuse requests while the server is ready. They are called for every request, in front of the
 * router too.
 */
import { attributeError } from './attribute-error.ts'
import { GateUnclear, Internal } from './errors.ts'
import { toServerError } from './outcome.ts'
import { ServerError } from './server-error.ts'

/** Returns the refusal, or undefined to let the request pass. */
export type Gate = () => ServerError | undefined

export interface Gates {
  add(plugin: string, gate: Gate): void
  /** One gate that calls all of them; null where there are none. */
  close(): Gate | null
}

/** A gate that throws, or returns neither an error nor undefined, refuses the request. */
const named =
  (plugin: string, gate: Gate): Gate =>
  () => {
    try {
      const refusal: unknown = gate()
      if (refusal === undefined || refusal instanceof ServerError) return refusal
      if (refusal instanceof Promise) refusal.catch(() => undefined) // an unhandled rejection would end the process
      throw Internal().with({ cause: GateUnclear(plugin) })
    } catch (error) {
      return toServerError(attributeError(error, plugin))
    }
  }

export const createGates = (): Gates => {
  const gates: Gate[] = []
  return {
    add: (plugin, gate) => void gates.push(named(plugin, gate)),
    close() {
      if (gates.length < 2) return gates[0] ?? null
      return () => {
        for (const gate of gates) {
          const refusal = gate()
          if (refusal !== undefined) return refusal
        }
        return undefined
      }
    },
  }
}
