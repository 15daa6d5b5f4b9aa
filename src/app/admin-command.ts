/** The command that starts the command line in this installation: an installed package has no scripts of npm. */
export const adminCommand = /[/\\]node_modules[/\\]/.test(import.meta.url)
  ? 'npx device-data-backend admin'
  : 'npm run admin --'
