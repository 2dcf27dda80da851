/** The answer of an operation that has begun a job. `what`: `export`, `import`. `url`: where the job is asked for. */
export const begunAnswer = (what: string, url: string) => ({
  status: 202,
  headers: { 'content-location': url },
  resource: {
    resourceType: 'OperationOutcome',
    issue: [
      {
        severity: 'information',
        code: 'informational',
        diagnostics: `The ${what} has begun; ask for it at ${url}.`,
      },
    ],
  },
})
