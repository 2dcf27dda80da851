/**
 * The tables of the writer lease. `cluster_mark` is the fence: each commit of the writer checks its epoch there and counts
 * itself. `cluster_lease` shows who the holder is and that it is alive, `cluster_epoch` keeps each takeover. A low
 * fillfactor keeps all versions of the one row in its page, where PostgreSQL removes old ones on the way.
 */
const columns = {
  mark: 'one smallint PRIMARY KEY, epoch bigint NOT NULL, seq bigint NOT NULL',
  lease:
    'one smallint PRIMARY KEY, epoch bigint NOT NULL, server text NOT NULL, host text NOT NULL, boot text NOT NULL, pid integer NOT NULL, build text NOT NULL, beat bigint NOT NULL, released smallint NOT NULL',
  epoch:
    'epoch bigint PRIMARY KEY, term text NOT NULL, first_seq bigint NOT NULL, server text NOT NULL, host text NOT NULL, pid integer NOT NULL, build text NOT NULL, at bigint NOT NULL',
}

const tables = (one: string): readonly string[] => [
  `CREATE TABLE cluster_mark (${columns.mark})${one}`,
  'INSERT INTO cluster_mark (one, epoch, seq) VALUES (1, 0, 0)',
  `CREATE TABLE cluster_lease (${columns.lease})${one}`,
  "INSERT INTO cluster_lease (one, epoch, server, host, boot, pid, build, beat, released) VALUES (1, 0, '', '', '', 0, '', 0, 1)",
  `CREATE TABLE cluster_epoch (${columns.epoch})`,
]

export const leaseMigration = {
  name: 'database/0003-lease',
  sql: { sqlite: tables(''), postgres: tables(' WITH (fillfactor = 10)') },
}
