/** The table of what is pinned per database, such as the FHIR release and the last build. */
export const pinsMigration = {
  name: 'database/0001-pins',
  sql: ['CREATE TABLE database_pin (name varchar(64) PRIMARY KEY, value text NOT NULL)'],
}
