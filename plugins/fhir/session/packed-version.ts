/** A version as plugins get it in a session: with its body as it is stored, too. */
import { type StoredVersion, VersionFact } from '../../storage/service.ts'
import type { PackedBody } from './session.ts'

export class PackedVersion extends VersionFact {
  readonly #body: PackedBody

  constructor(version: StoredVersion) {
    super(version)
    this.#body = version
  }

  get packed(): PackedBody {
    return this.#body
  }
}
