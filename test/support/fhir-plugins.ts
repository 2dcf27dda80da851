/** The plugins that store resources and serve them over HTTP: whoever lists the plugin fhir lists what it is made of. */
import type { AnyPlugin } from '../../kernel/index.ts'
import fhir from '../../plugins/fhir/index.ts'
import model from '../../plugins/model/index.ts'
import search from '../../plugins/search/index.ts'
import storage from '../../plugins/storage/index.ts'

export const fhirPlugins: readonly AnyPlugin[] = [model, storage, search, fhir]
