/** Lines on a 24 × 24 grid, in the colour of the text. */
const paths: Readonly<Record<string, string>> = {
  fleet: 'M3 5h7v6H3zM14 5h7v6h-7zM3 15h7v4H3zM14 15h7v4h-7z',
  alarms: 'M12 3 2 20h20L12 3zM12 10v5M12 17.5v.5',
  functions: 'M4 6h5v4H4zM15 14h5v4h-5zM9 8h4a2 2 0 0 1 2 2v2a4 4 0 0 0 0 4M6.5 10v4a2 2 0 0 0 2 2H15',
  notifications: 'M3 6h18v12H3zM3 7l9 7 9-7',
  firmware: 'M7 7h10v10H7zM10 3v4M14 3v4M10 17v4M14 17v4M3 10h4M3 14h4M17 10h4M17 14h4',
  administration:
    'M8 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM2 20c0-4 3-6 6-6s6 2 6 6M16 4a3.5 3.5 0 0 1 0 7M18 14c2.5.8 4 3 4 6',
  person: 'M12 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-4 4-6 8-6s8 2 8 6',
  half: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 3v18M12 7h4.5M12 11h6M12 15h5',
  menu: 'M4 6h16M4 12h16M4 18h16',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5 19 19M19 5l-1.5 1.5M6.5 17.5 5 19',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z',
}

export function Icon({ name }: { readonly name: string }) {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true" class="icon">
      <path d={paths[name] ?? ''} />
    </svg>
  )
}

export function Brand() {
  return (
    <>
      <svg viewBox="0 0 32 32" aria-hidden="true" class="mark-icon">
        <rect width="32" height="32" rx="7" fill="#0b5c72" />
        <path d="M5 18h5l3-9 5 15 3-9 2 3h4" fill="none" stroke="#fff" stroke-width="2.6" />
      </svg>
      <span class="brand-name">Device Data Backend</span>
    </>
  )
}
