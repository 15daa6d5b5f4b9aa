import './launch.cjs'
