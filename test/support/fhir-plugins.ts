/** The plugins that store resources and serve them over HTTP: fhir and the plugins it needs. */
import type { AnyPlugin } from '../../kernel/index.ts'
import fhir from '../../plugins/fhir/index.ts'
import model from '../../plugins/model/index.ts'
import search from '../../plugins/search/index.ts'
import storage from '../../plugins/storage/index.ts'

export const fhirPlugins: readonly AnyPlugin[] = [model, storage, search, fhir]
