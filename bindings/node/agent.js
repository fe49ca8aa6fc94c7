#!/usr/bin/env node
// The program `agent`.
'use strict'

require('./dist/index.js').main()
