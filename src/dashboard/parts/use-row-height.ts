import { useEffect, useState } from 'preact/hooks'

const touchedPx = 48
const rowRem = 2.6

/** Pixels of a row of a long list: by the size of the text, and enough for a finger where one points. */
export function useRowHeight(): number {
  const [height, setHeight] = useState(measured)
  useEffect(() => {
    const look = () => setHeight(measured)
    addEventListener('resize', look)
    return () => removeEventListener('resize', look)
  }, [])
  return height
}

function measured(): number {
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize)
  return Math.max(Math.round(rem * rowRem), matchMedia('(pointer: coarse)').matches ? touchedPx : 0)
}
