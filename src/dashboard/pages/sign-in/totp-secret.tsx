import { encode } from 'uqr'
import { Copy } from '#dashboard/parts/copy'

/** A secret for one-time codes, as a QR code and as text. */
export function TotpSecret({ secret, otpauthUri }: { readonly secret: string; readonly otpauthUri: string }) {
  return (
    <>
      <p>Scan this with an app for one-time codes, or enter the secret there.</p>
      <QrCode text={otpauthUri} />
      <div class="command">
        <pre>
          <code>{secret.replace(/(.{4})(?=.)/g, '$1 ')}</code>
        </pre>
        <Copy text={secret} label="Copy the secret" />
      </div>
      <p>
        On this device: <a href={otpauthUri}>open the app</a>
      </p>
    </>
  )
}

const border = 3

/** Always dark on light: some cameras cannot read inverted codes. */
function QrCode({ text }: { readonly text: string }) {
  const { data, size } = encode(text, { ecc: 'M', border })
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label="QR code of the secret below">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" shape-rendering="crispEdges" />
    </svg>
  )
}
