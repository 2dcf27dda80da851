/** How strict a write is. Our own addition to [conformance]: the specification says that writes are checked, not how far. */
import { Type } from '../../kernel/index.ts'

export const validationConformance = Type.Object({
  validation: Type.Union([Type.Literal('structure'), Type.Literal('rules'), Type.Literal('profiles')], {
    default: 'profiles',
    description:
      'How far a write is checked: its structure only; also the required bindings and invariants of its type, and the installed definitions of its extensions; also the profiles it claims in meta.profile, where they are installed.',
  }),
})

export type Level = 'structure' | 'rules' | 'profiles'
