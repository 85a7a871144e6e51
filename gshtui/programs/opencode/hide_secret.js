// What OpenCode runs for its model inherits its environment; the secret of its server is none of that's business.
export const GshServer = async () => {
  delete process.env.OPENCODE_SERVER_PASSWORD
  return {}
}
