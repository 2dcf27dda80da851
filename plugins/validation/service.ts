/** Validation for other plugins: of a write, in full for $validate, and the place where they add checks of their own. */
import type { Definitions } from '../packages/service.ts'
import type { RemoteValidator, Validator } from './validator-contract.ts'

export { type AddedCheck, type RemoteValidator, type ValidationOptions, Validator } from './validator-contract.ts'

/** For another thread: the same validator, without added checks. */
export const openValidator = async ({ level }: RemoteValidator, definitions: Definitions): Promise<Validator> => {
  const { createValidator } = await import('./validator.ts')
  return createValidator({ definitions, level })
}
