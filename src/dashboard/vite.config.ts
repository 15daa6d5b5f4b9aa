import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../../', import.meta.url))

/** Builds the dashboard into `dist/pages/dashboard`: a page, and assets with a hash in their names. */
export default defineConfig({
  root: here,
  base: './',
  publicDir: false,
  cacheDir: `${root}node_modules/.vite-dashboard`,
  resolve: {
    alias: [
      { find: /^#dashboard\//, replacement: here },
      { find: /^#(client|model)\//, replacement: `${root}src/$1/` },
    ],
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: `${root}dist/pages/dashboard`,
    emptyOutDir: true,
    assetsDir: 'assets',
    // No asset is inlined, because the content security policy permits only files of the same server.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: ['chrome111', 'firefox114', 'safari16.4'],
    reportCompressedSize: false,
    // A few large files compress better than many small ones. So there is one file for styles, one for the shared code
    // and the first pages, and one for each set of other pages.
    cssCodeSplit: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            {
              name: 'core',
              test: /src[\\/](client|dashboard[\\/](address|alarm-counts|binding|commands|conditions|pages[\\/](sign-in|fleet[\\/](?!bulk-changes)|device)|components|preferences|session|theme|timers|values|history[\\/](chart-series|lazy-chart|sparkline|use-sparklines)))/,
            },
            // Loaded when the first chart appears.
            { name: 'chart', test: /node_modules[\\/]uplot|dashboard[\\/]history/ },
            // Pages that are opened less often, and the changes of selected devices. Separate files would be larger.
            {
              name: 'management',
              test: /dashboard[\\/]pages[\\/](administration|account|firmware|fleet[\\/]bulk-changes)/,
            },
            { name: 'rules', test: /dashboard[\\/]pages[\\/](alarms|functions|notifications)/ },
          ],
        },
      },
    },
  },
  server: {
    // For development with `vite`: the API of a local server.
    proxy: { '/api': { target: 'http://127.0.0.1:8080', ws: true } },
  },
})
