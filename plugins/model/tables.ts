/** Statements on the table `catalog`, which storage creates with its migration `fhir/0001-resources`. */
import { sql } from '../database/service.ts'

export const readCatalog = sql('fhir.catalog', 'SELECT body FROM catalog WHERE fingerprint = ?')
export const clearCatalog = sql('fhir.catalog-clear', 'DELETE FROM catalog')
export const removeCatalog = sql('fhir.catalog-remove', 'DELETE FROM catalog WHERE fingerprint = ?')
export const insertCatalog = sql('fhir.catalog-insert', 'INSERT INTO catalog (fingerprint, body) VALUES (?, ?)')
