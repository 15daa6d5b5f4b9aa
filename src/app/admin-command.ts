/** How users start the command line. The npm script only exists in the source folder, not in an installed package. */
export const adminCommand = /[/\\]node_modules[/\\]/.test(import.meta.url)
  ? 'npx device-data-backend admin'
  : 'npm run admin --'
