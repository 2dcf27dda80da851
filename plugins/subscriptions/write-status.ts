/** Writes the status of a Subscription as the server: a new version of the resource. */
import { isServerError } from '../../kernel/index.ts'
import type { Session } from '../fhir/service.ts'
import { parseExact } from '../model/service.ts'
import type { StateRow } from './tables.ts'

/**
 * Resolves to false where the Subscription has changed meanwhile, which has handled its state. `error` is visible to every
 * caller that reads the Subscription.
 */
export type WriteStatus = (
  of: Pick<StateRow, 'id' | 'version'>,
  status: 'active' | 'error' | 'off',
  error?: string,
) => Promise<boolean>

const CHANGED: ReadonlySet<number> = new Set([404, 409, 410, 412])

export const createWriteStatus =
  (server: Pick<Session, 'change'>): WriteStatus =>
  async ({ id, version }, status, error) => {
    const revise = (json: string): string => {
      const { error: _before, ...resource } = parseExact(json) as Record<string, unknown>
      return JSON.stringify({ ...resource, status, ...(error !== undefined && { error }) })
    }
    try {
      await server.change([{ kind: 'modify', type: 'Subscription', id, ifMatch: version, revise }])
      return true
    } catch (thrown) {
      if (!isServerError(thrown) || !CHANGED.has(thrown.status)) throw thrown
      return false
    }
  }
