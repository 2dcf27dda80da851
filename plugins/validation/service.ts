/** What other plugins may import from validation: the service, which also takes their checks, and validators for threads. */
import type { Definitions } from '../packages/service.ts'
import type { RemoteValidator, Validator } from './validator-contract.ts'

export { type AddedCheck, type RemoteValidator, type ValidationOptions, Validator } from './validator-contract.ts'

/** Makes the same validator in another thread. Checks that plugins added stay on the main thread. */
export const openValidator = async ({ level }: RemoteValidator, definitions: Definitions): Promise<Validator> => {
  const { createValidator } = await import('./validator.ts')
  return createValidator({ definitions, level })
}
