/** QuestionnaireResponses are stored and cannot be read. Off by default. Spec: [features] sdc_archiver. */
import { definePlugin } from '../../kernel/index.ts'
import { Fhir } from '../fhir/service.ts'
import { archiverFeature } from './config.ts'
import { WRITE_ONLY } from './write-only.ts'

export default definePlugin({
  name: 'sdc-archiver',
  description: 'Stores QuestionnaireResponses and shows them to nobody',
  config: { features: archiverFeature },
  needs: { fhir: Fhir },
  enabled: ({ features }) => features.sdc_archiver,
  setup({ hooks, needs: { fhir } }) {
    fhir.restrictEveryone(hooks, WRITE_ONLY)
  },
})
