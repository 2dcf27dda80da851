/** Configuration keys of this plugin in the section `[fhir]`. */
import { Type } from '../../kernel/index.ts'

export const fhirSection = Type.Object({
  full_text: Type.Union([Type.Literal('all'), Type.Literal('narrative'), Type.Literal('none')], {
    default: 'all',
    description:
      'Words that are indexed: of all texts, for _text and _content; of narratives, for _text; or none, which makes writes cheaper. After a change the words of all resources are indexed anew at the next start.',
  }),
})
