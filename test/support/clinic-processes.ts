/** The server of the login clinic in processes of its own, which a test kills and starts again, on one database. */
import type { FreshDatabase } from './database-kinds.ts'
import { loginClinic } from './login-clinic.ts'
import { remoteServer } from './remote-server.ts'
import type { AnsweringServer } from './server-with.ts'
import { smartSettings } from './smart-server.ts'
import { spawnServer } from './spawn-server.ts'

export interface ClinicProcess extends AnsweringServer {
  /** Ends the process by SIGKILL. */
  kill(): Promise<void>
}

/** Stores the records of the clinic. */
export const fillClinic = async ({ settings }: FreshDatabase): Promise<void> => {
  const server = await loginClinic({ settings })
  await server.stop()
}

/** Starts a process on a filled database. */
export const startClinic = async (
  { settings }: FreshDatabase,
  smart: Readonly<Record<string, unknown>> = {},
): Promise<ClinicProcess> => {
  const server = await spawnServer(settings, {
    // On PostgreSQL several of them write at once.
    plugins: ['writers-together', 'clinic-definitions', 'limits', 'cors', 'smart'],
    settings: {
      ...smartSettings({ demo_login: true, ...smart }),
      rate_limit: {
        requests_per_second: 1e6,
        burst: 1e6,
        anonymous_requests_per_second: 1e6,
        anonymous_burst: 1e6,
        auth_failures_per_minute: 100_000,
      },
    },
  })
  const remote = remoteServer(server.base)
  return {
    inject: remote.inject,
    async kill() {
      remote.close()
      await server.kill()
    },
  }
}
