/** Settings of the section [terminology]. */
import { Type } from '../../kernel/index.ts'

export const terminologySection = Type.Object({
  urls: Type.Array(
    Type.String({
      pattern: '^https?://[^\\s?#@]+$',
      maxLength: 500,
      allowed: 'an http or https URL of at most 500 characters, without user name, query and fragment',
    }),
    {
      default: [],
      flag: 'terminology',
      description:
        'Base URLs of FHIR servers from which code systems, value sets and concept maps are pulled at start; never while a request is answered.',
    },
  ),
})
