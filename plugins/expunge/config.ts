/** [expunge]: who may expunge where nobody has to authenticate. */
import { Type } from '../../kernel/index.ts'

export const expungeSection = Type.Object({
  anonymous: Type.Boolean({
    default: false,
    description:
      'Lets callers whom no plugin authenticates use $expunge. With access tokens it is for clients with the scope system/*.cruds only, whatever this says.',
  }),
})
