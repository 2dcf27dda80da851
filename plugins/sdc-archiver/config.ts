/** The setting of the archiver. Spec: [features]. */
import { Type } from '../../kernel/index.ts'

export const archiverFeature = Type.Object({
  sdc_archiver: Type.Boolean({
    default: false,
    flag: 'sdc-archiver',
    description: 'Stores QuestionnaireResponses without allowing anybody to read them later.',
  }),
})
